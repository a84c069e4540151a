import type { ConfigTemplate } from '../config-template';
import { ciphers, hstsMaxAgeS, hstsWarning } from '../tls-settings';

/** 2.4.8 or newer: the chain stands in the file of the certificate. */
export const apache: ConfigTemplate = {
  name: 'apache',
  text: (security) => `\
# Into the <VirtualHost *:443> of the site; needs mod_ssl and "Listen 443".
SSLEngine on
SSLCertificateFile    "__CHAINED_PATH__"
SSLCertificateKeyFile "__KEY_PATH__"
${security ? settings : ''}`,
};

const settings = `
# Of several hosts at one address the first one's protocols hold for all.
SSLProtocol -all +TLSv1.2 +TLSv1.3
SSLCipherSuite ${ciphers}
SSLHonorCipherOrder off
SSLSessionTickets off

# ${hstsWarning}
# Needs mod_headers.
#Header always set Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;
