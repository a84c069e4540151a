/**
 * Configuration with which a server serves a certificate. Placeholders are surrounded by double underscores, and there are
 * no other double underscores: the existing command-line client fills in the paths of its files, of which CERT, KEY, CHAIN
 * and CHAINED always exist, COMBINED and ROOT if its user enabled them.
 */
export interface ConfigTemplate {
  readonly name: string;
  /** @param security whether recommended settings are included */
  text(security: boolean): string;
}

/** Names of placeholders, each followed by `_PATH`. */
export const placeholders = ['CERT', 'KEY', 'CHAIN', 'CHAINED', 'COMBINED', 'ROOT', 'DHPARAMS'] as const;

/**
 * For TLS 1.2, in the names of OpenSSL: forward secrecy and authenticated encryption only (RFC 9325 §4.2). All are strong, so
 * the client chooses what is fast on it. Without DHE no server needs DH parameters. Versions below 1.2 are gone (RFC 8996);
 * TLS 1.3 and the groups are best left to the library, whose newer versions begin with a post-quantum one.
 */
const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** For programs that want the suites of TLS 1.3 named as well. */
const tls13Suites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'].join(
  ':',
);

/** Two years, in seconds, as the preload lists of browsers require at least one (RFC 6797). */
const hstsMaxAgeS = 2 * 365 * 86_400;

/** Above the commented setting. */
const hstsWarning =
  'Browsers then refuse plain HTTP to this host for two years; enable it when all of the site works with HTTPS.';

/** 2.4.8 or newer: the chain is in the file of the certificate. */
const apache: ConfigTemplate = {
  name: 'apache',
  text: (security) => `\
# Into the <VirtualHost *:443> of the site; needs mod_ssl and "Listen 443".
SSLEngine on
SSLCertificateFile    "__CHAINED_PATH__"
SSLCertificateKeyFile "__KEY_PATH__"
${security ? apacheSettings : ''}`,
};

const apacheSettings = `
# Of several hosts at one address the first one's protocols hold for all.
SSLProtocol -all +TLSv1.2 +TLSv1.3
SSLCipherSuite ${ciphers}
SSLHonorCipherOrder off
SSLSessionTickets off

# ${hstsWarning}
# Needs mod_headers.
#Header always set Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;

/** Version 2. What it does of its own accord, versions and cipher suites, is what would be recommended. */
const caddy: ConfigTemplate = {
  name: 'caddy',
  text: (security) => `\
# Into the block of the site. Caddy then fetches no certificate itself.
tls "__CHAINED_PATH__" "__KEY_PATH__"${security ? caddySettings : '\n'}`,
};

const caddySettings = ` {
	protocols tls1.2 tls1.3
}

# ${hstsWarning}
#header Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;

/** 2.3, and what is different from 2.4 on as a comment. */
const dovecot: ConfigTemplate = {
  name: 'dovecot',
  text: (security) => `\
# Into conf.d/10-ssl.conf, in place of settings of the same names.
ssl = required
ssl_cert = <__CHAINED_PATH__
ssl_key = <__KEY_PATH__
# In Dovecot 2.4 the last two are:
#ssl_server_cert_file = __CHAINED_PATH__
#ssl_server_key_file = __KEY_PATH__
${security ? dovecotSettings : ''}`,
};

const dovecotSettings = `
ssl_min_protocol = TLSv1.2
ssl_cipher_list = ${ciphers}
# In Dovecot 2.4: ssl_server_prefer_ciphers = client
ssl_prefer_server_ciphers = no
`;

/** 2.2 or newer for `ssl-min-ver`. Certificate, chain and key come in one file: there is no other way in all versions of today. */
const haproxy: ConfigTemplate = {
  name: 'haproxy',
  text: (security) => `\
# Into the frontend of the site.
bind :443 ssl crt "__COMBINED_PATH__" alpn h2,http/1.1${security ? haproxySettings : '\n'}`,
};

const haproxySettings = ` ssl-min-ver TLSv1.2 no-tls-tickets ciphers ${ciphers}

# ${hstsWarning}
#http-response set-header Strict-Transport-Security "max-age=${hstsMaxAgeS}"
`;

/** 1.4.53 or newer: before, the key had to stand in the file of the certificate. */
const lighttpd: ConfigTemplate = {
  name: 'lighttpd',
  text: (security) => `\
# Into the block $SERVER["socket"] == ":443" of the configuration; needs "mod_openssl" among server.modules.
ssl.engine  = "enable"
ssl.pemfile = "__CHAINED_PATH__"
ssl.privkey = "__KEY_PATH__"
${security ? lighttpdSettings : ''}`,
};

const lighttpdSettings = `
ssl.openssl.ssl-conf-cmd = (
  "MinProtocol" => "TLSv1.2",
  "Options" => "-ServerPreference",
  "CipherString" => "${ciphers}"
)

# ${hstsWarning}
# Needs "mod_setenv".
#setenv.add-response-header = ( "Strict-Transport-Security" => "max-age=${hstsMaxAgeS}" )
`;

/** 1.15 or newer: `ssl on` is gone since then. */
const nginx: ConfigTemplate = {
  name: 'nginx',
  text: (security) => `\
# Into the server block of the site, which needs "listen 443 ssl;" and "listen [::]:443 ssl;".
ssl_certificate     "__CHAINED_PATH__";
ssl_certificate_key "__KEY_PATH__";
${security ? nginxSettings : ''}`,
};

const nginxSettings = `
ssl_protocols TLSv1.2 TLSv1.3;
ssl_ciphers ${ciphers};
ssl_prefer_server_ciphers off;
ssl_session_timeout 1d;
ssl_session_cache shared:tls:10m;
ssl_session_tickets off;

# ${hstsWarning}
#add_header Strict-Transport-Security "max-age=${hstsMaxAgeS}" always;
`;

/** An ECMAScript module; any Node.js of today. */
const node: ConfigTemplate = {
  name: 'node',
  text: (security) => `\
import { readFileSync } from 'node:fs';

// For createServer of node:https, node:tls and node:http2. A renewed certificate is taken up without a restart by
// server.setSecureContext(tlsOptions()).
const tlsOptions = () => ({
  cert: readFileSync("__CHAINED_PATH__"),
  key: readFileSync("__KEY_PATH__"),
${security ? nodeSettings : ''}});
${security ? nodeHsts : ''}`,
};

/** As one text: without its suites Node.js would switch TLS 1.3 off. */
const nodeSettings = `\
  minVersion: 'TLSv1.2',
  ciphers: [
    ${`${tls13Suites}:${ciphers}`
      .split(':')
      .map((name) => `'${name}',`)
      .join('\n    ')}
  ].join(':'),
  honorCipherOrder: false,
`;

const nodeHsts = `
// ${hstsWarning}
//response.setHeader('Strict-Transport-Security', 'max-age=${hstsMaxAgeS}');
`;

/** 3.6 or newer with the settings: `>=` is not known before. */
const postfix: ConfigTemplate = {
  name: 'postfix',
  text: (security) => `\
# Into main.cf, in place of settings of the same names.
smtpd_tls_security_level = may
smtpd_tls_cert_file = __CHAINED_PATH__
smtpd_tls_key_file = __KEY_PATH__
${security ? postfixSettings : ''}`,
};

const postfixSettings = `
# Passwords are taken under TLS only.
smtpd_tls_auth_only = yes
smtpd_tls_protocols = >=TLSv1.2
smtpd_tls_mandatory_protocols = >=TLSv1.2
# Only where TLS is mandatory, as for submission: a client that may send in the clear is not refused for an old cipher.
smtpd_tls_mandatory_ciphers = high
tls_high_cipherlist = ${ciphers}
tls_preempt_cipherlist = no
`;

/** In the order in which they are listed. */
export const configTemplates: readonly ConfigTemplate[] = [
  apache,
  caddy,
  dovecot,
  haproxy,
  lighttpd,
  nginx,
  node,
  postfix,
];
