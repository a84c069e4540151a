// `nx serve <app>`: takes the app over from the running `npm start`, rebuilds it on change and starts it again after each
// good build. Its settings, keys and services are those of `npm start`, which starts its own copy again afterwards.
import { requireNode } from './workspace.mjs';

requireNode();
const { serve } = await import('./served-app.mjs');
process.exit(await serve(String(process.argv[2])));
