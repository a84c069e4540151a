// Installs the packages of package-lock.json unless they are installed.
import { requireNode } from './workspace.mjs';

requireNode();
const { installPackages } = await import('./workspace.mjs');
const { stopRequest } = await import('./stop-request.mjs');
await installPackages({ signal: stopRequest() });
