// `nx build <app>`.
import { bundle, entryPointsOf } from './bundle.mjs';

const [projectRoot] = process.argv.slice(2);
await bundle(entryPointsOf(projectRoot), `dist/${projectRoot}`);
