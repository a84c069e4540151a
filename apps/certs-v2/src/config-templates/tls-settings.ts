/**
 * For TLS 1.2, in the names of OpenSSL: forward secrecy and authenticated encryption only (RFC 9325 §4.2). All are strong, so
 * the client chooses what is fast on it. Without DHE no server needs DH parameters. Versions below 1.2 are gone (RFC 8996);
 * TLS 1.3 and the groups are best left to the library, whose newer versions begin with a post-quantum one.
 */
export const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** For programs that want the suites of TLS 1.3 named as well. */
export const tls13Suites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
].join(':');

/** Two years, in seconds, as the preload lists of browsers ask for at least one (RFC 6797). */
export const hstsMaxAgeS = 2 * 365 * 86_400;

/** Above the commented setting. */
export const hstsWarning =
  'Browsers then refuse plain HTTP to this host for two years; enable it when all of the site works with HTTPS.';
