import type { ConfigTemplate } from '../config-template';
import { ciphers } from '../tls-settings';

/** 3.6 or newer with the settings: `>=` is not known before. */
export const postfix: ConfigTemplate = {
  name: 'postfix',
  text: (security) => `\
# Into main.cf, in place of what stands there of the same names.
smtpd_tls_security_level = may
smtpd_tls_cert_file = __CHAINED_PATH__
smtpd_tls_key_file = __KEY_PATH__
${security ? settings : ''}`,
};

const settings = `
# Passwords are taken under TLS only.
smtpd_tls_auth_only = yes
smtpd_tls_protocols = >=TLSv1.2
smtpd_tls_mandatory_protocols = >=TLSv1.2
# Only where TLS is obligatory, as for submission: who may send in the clear is not turned away for an old cipher.
smtpd_tls_mandatory_ciphers = high
tls_high_cipherlist = ${ciphers}
tls_preempt_cipherlist = no
`;
