import type { ConfigTemplate } from '../config-template';
import { ciphers, hstsMaxAgeS, hstsWarning } from '../tls-settings';

/** 2.2 or newer for `ssl-min-ver`. Certificate, chain and key come in one file: there is no other way in all versions of today. */
export const haproxy: ConfigTemplate = {
  name: 'haproxy',
  text: (security) => `\
# Into the frontend of the site.
bind :443 ssl crt "__COMBINED_PATH__" alpn h2,http/1.1${security ? settings : '\n'}`,
};

const settings = ` ssl-min-ver TLSv1.2 no-tls-tickets ciphers ${ciphers}

# ${hstsWarning}
#http-response set-header Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;
