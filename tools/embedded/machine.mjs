// @ts-check
// The platform of this machine, which determines the programs that npm installs.

/**
 * @typedef {object} Machine
 * @property {string} platform as in `process.platform`
 * @property {string} arch as in `process.arch`
 * @property {boolean} isMusl Linux without glibc, such as Alpine
 */

/** Machines for which npm installs PostgreSQL: Linux with glibc, and macOS. */
export const POSTGRES_MACHINES = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64'];
/** Machines for which npm installs Node.js 24. */
export const NODE_MACHINES = ['linux-x64', 'linux-arm64'];

/** @type {boolean | undefined} */
let isMusl;

/** @returns {Machine} */
export function thisMachine() {
  const { platform, arch } = process;
  isMusl ??= platform === 'linux' && !hasGlibc();
  return { platform, arch, isMusl };
}

/** @param {Machine} machine */
export function machineName({ platform, arch, isMusl }) {
  return `${platform}-${arch}${isMusl ? '-musl' : ''}`;
}

function hasGlibc() {
  // Otherwise the report looks up the names of open connections, which takes seconds.
  Object.assign(process.report, { excludeNetwork: true });
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header?.glibcVersionRuntime !== undefined;
}
