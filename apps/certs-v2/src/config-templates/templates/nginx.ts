import type { ConfigTemplate } from '../config-template';
import { ciphers, hstsMaxAgeS, hstsWarning } from '../tls-settings';

/** 1.15 or newer: `ssl on` is gone since then. */
export const nginx: ConfigTemplate = {
  name: 'nginx',
  text: (security) => `\
# Into the server block of the site, which needs "listen 443 ssl;" and "listen [::]:443 ssl;".
ssl_certificate     "__CHAINED_PATH__";
ssl_certificate_key "__KEY_PATH__";
${security ? settings : ''}`,
};

const settings = `
ssl_protocols TLSv1.2 TLSv1.3;
ssl_ciphers ${ciphers};
ssl_prefer_server_ciphers off;
ssl_session_timeout 1d;
ssl_session_cache shared:tls:10m;
ssl_session_tickets off;

# ${hstsWarning}
#add_header Strict-Transport-Security "max-age=${hstsMaxAgeS}" always;
`;
