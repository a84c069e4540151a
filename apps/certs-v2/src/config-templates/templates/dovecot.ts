import type { ConfigTemplate } from '../config-template';
import { ciphers } from '../tls-settings';

/** 2.3, and what is different from 2.4 on as a comment. */
export const dovecot: ConfigTemplate = {
  name: 'dovecot',
  text: (security) => `\
# Into conf.d/10-ssl.conf, in place of what stands there of the same names.
ssl = required
ssl_cert = <__CHAINED_PATH__
ssl_key = <__KEY_PATH__
# In Dovecot 2.4 the last two are:
#ssl_server_cert_file = __CHAINED_PATH__
#ssl_server_key_file = __KEY_PATH__
${security ? settings : ''}`,
};

const settings = `
ssl_min_protocol = TLSv1.2
ssl_cipher_list = ${ciphers}
# In Dovecot 2.4: ssl_server_prefer_ciphers = client
ssl_prefer_server_ciphers = no
`;
