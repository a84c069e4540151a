// Bundles the gateway's verification of audit logs to dist/tools/audit/verify.js.
import { bundle } from '../build/bundle.mjs';

await bundle({ verify: 'apps/dns-gateway/src/audit/verify.ts' }, 'dist/tools/audit');
