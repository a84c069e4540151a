import type { ConfigTemplate } from '../config-template';
import { ciphers, hstsMaxAgeS, hstsWarning } from '../tls-settings';

/** 1.4.53 or newer: before, the key had to stand in the file of the certificate. */
export const lighttpd: ConfigTemplate = {
  name: 'lighttpd',
  text: (security) => `\
# Into the block $SERVER["socket"] == ":443" of the configuration; needs "mod_openssl" among server.modules.
ssl.engine  = "enable"
ssl.pemfile = "__CHAINED_PATH__"
ssl.privkey = "__KEY_PATH__"
${security ? settings : ''}`,
};

const settings = `
ssl.openssl.ssl-conf-cmd = (
  "MinProtocol" => "TLSv1.2",
  "Options" => "-ServerPreference",
  "CipherString" => "${ciphers}"
)

# ${hstsWarning}
# Needs "mod_setenv".
#setenv.add-response-header = ( "Strict-Transport-Security" => "max-age=${hstsMaxAgeS}" )
`;
