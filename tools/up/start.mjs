// `npm start`: the whole system on this machine, from a fresh clone. See up.mjs.
import { requireNode } from './workspace.mjs';

requireNode();
const { up } = await import('./up.mjs');
process.exit(await up());
