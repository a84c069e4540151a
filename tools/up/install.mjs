// Brings node_modules to what package-lock.json says, and does nothing where it is so already.
import { requireNode } from './workspace.mjs';

requireNode();
const { installPackages } = await import('./workspace.mjs');
const { stopRequest } = await import('./stop-request.mjs');
await installPackages({ signal: stopRequest() });
