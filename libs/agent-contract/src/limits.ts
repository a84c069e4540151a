const kib = 1024;
const mib = 1024 * kib;

/** Bounds of the protocol, which both sides enforce. Bytes are those of bodies, before any transfer coding. */
export const limits = {
  maxResponseBytes: mib,
  /** A server ends a page of orders here, so that the page stays below `maxResponseBytes`; a page has at least one order. */
  maxStateBytes: 512 * kib,
  maxOrdersPerState: 200,
  maxOrdersPerCluster: 10_000,
  maxAgentsPerCluster: 1_000,
  maxNamesPerOrder: 1_000,
  /** Leaf and root are not counted. */
  maxChainCertificates: 20,
  /** Of one certificate in DER. */
  maxCertificateBytes: 64 * kib,
  /** Of one CSR in DER: 100 names of 253 bytes take 26 KiB. */
  maxCsrBytes: 64 * kib,
  /** Of one private key as PKCS#8 DER: RSA 4096 takes 2.4 KiB. */
  maxPkcs8Bytes: 4 * kib,
  maxEnrolBytes: 16 * kib,
  /** 999 sealed keys of RSA 4096. */
  maxKeysBytes: 4 * mib,
  maxReportBytes: 64 * kib,
  maxInstallationsPerReport: 500,
  /** Addresses of one installation. */
  maxServedPerInstallation: 50,
  /** Characters (UTF-16 units) of `problem`. */
  maxProblemLength: 500,
  /** Of the name of an installation point. */
  maxPointLength: 100,
  /** Of the name of a host, its platform and the version of its agent. */
  maxAgentTextLength: 255,
  /** A signature whose `created` differs more from the server's clock is refused as `clock_skew`. */
  maxClockSkewS: 300,
  defaultWaitS: 50,
  maxWaitS: 180,
  /** Without a byte from the server; a waiting request for state adds its `wait`. */
  maxSilenceMs: 15_000,
} as const;
