// @ts-check
// The argument of main.mjs and its line of output, both in JSON.

/**
 * @typedef {object} ZoneOptions
 * @property {string} name apex, without the dot at the end
 * @property {readonly string[]} [records] lines of a master file, names relative to the apex
 * @property {string} [primary] address of the server among these that it is copied from (RFC 5936); absent: it is the primary
 * @property {number} [refreshS] of the SOA record: how often a copy is compared. Default 3600: a copy never follows by itself
 */

/**
 * @typedef {object} ServerOptions
 * @property {'bind' | 'knot' | 'pdns'} kind
 * @property {string} address of its own, within 127.0.0.0/8
 * @property {readonly ZoneOptions[]} zones
 */

/**
 * @typedef {object} PeerOptions
 * @property {readonly ServerOptions[]} servers
 * @property {boolean} [unbound] a resolver at 127.0.0.1 that knows these zones and no others. Default false
 */

/**
 * @typedef {object} Key TSIG (RFC 8945)
 * @property {string} name
 * @property {'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512'} algorithm
 * @property {string} secret base64
 */

/**
 * @typedef {object} RunningServer
 * @property {ServerOptions['kind']} kind
 * @property {string} address
 * @property {number} pid SIGSTOP makes it a server that hangs
 * @property {string} log
 * @property {string} [api] of PowerDNS: its URL, without a path
 * @property {string} [apiKey]
 */

/**
 * @typedef {object} RunningPeers
 * @property {number} port the same at every address, UDP and TCP
 * @property {string} folder gone when the servers are stopped
 * @property {{ full: Key, sha384: Key, sha512: Key, challenges: Key }} keys three that may change everything; `challenges`
 *   only TXT and CNAME at `_acme-challenge.www` of each zone
 * @property {readonly RunningServer[]} servers in the order of the options
 * @property {{ address: string, port: number, pid: number, log: string } | null} unbound
 */

export const freshKeys = (/** @type {(bytes: number) => Buffer} */ random) => ({
  full: key('gateway-key', 'hmac-sha256', random(32)),
  sha384: key('gateway-key-384', 'hmac-sha384', random(48)),
  sha512: key('gateway-key-512', 'hmac-sha512', random(64)),
  challenges: key('challenges-only', 'hmac-sha256', random(32)),
});

/**
 * @param {string} name
 * @param {Key['algorithm']} algorithm
 * @param {Buffer} secret
 * @returns {Key}
 */
const key = (name, algorithm, secret) => ({ name, algorithm, secret: secret.toString('base64') });
