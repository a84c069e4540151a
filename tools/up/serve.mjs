// `nx serve <app>`: takes over the app from the running `npm start`, and rebuilds and restarts it on change. It has the settings,
// keys and services of `npm start`, which starts its own copy again afterwards.
import { requireNode } from './workspace.mjs';

requireNode();
const { serve } = await import('./served-app.mjs');
process.exit(await serve(String(process.argv[2])));
