import type { ConfigTemplate } from '../config-template';
import { ciphers, hstsMaxAgeS, hstsWarning, tls13Suites } from '../tls-settings';

/** An ECMAScript module; any Node.js of today. */
export const node: ConfigTemplate = {
  name: 'node',
  text: (security) => `\
import { readFileSync } from 'node:fs';

// For createServer of node:https, node:tls and node:http2. A renewed certificate is taken up without a restart by
// server.setSecureContext(tlsOptions()).
const tlsOptions = () => ({
  cert: readFileSync("__CHAINED_PATH__"),
  key: readFileSync("__KEY_PATH__"),
${security ? settings : ''}});
${security ? hsts : ''}`,
};

/** As one text: without its suites Node.js would switch TLS 1.3 off. */
const settings = `\
  minVersion: 'TLSv1.2',
  ciphers: [
    ${`${tls13Suites}:${ciphers}`
      .split(':')
      .map((name) => `'${name}',`)
      .join('\n    ')}
  ].join(':'),
  honorCipherOrder: false,
`;

const hsts = `
// ${hstsWarning}
//response.setHeader('Strict-Transport-Security', 'max-age=${hstsMaxAgeS}');
`;
