// @ts-check
// Runs an image with crun, as a container engine does: its user, a read-only root, no capabilities, seccomp, no new
// privileges. It shares the network and its names with this process.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runBuildah } from './engine.mjs';

const SECCOMP_PROFILE = '/usr/share/containers/seccomp.json';

/**
 * @typedef {object} Container
 * @property {string} bundle folder with config.json, for `crun run --bundle`
 * @property {string} root its files
 * @property {string[]} env
 */

/**
 * @param {string} image tag
 * @param {import('./compose.mjs').Service} service
 * @param {{ name: string, folder: string, mountFrom: (source: string) => string, hosts: string,
 *   environment?: Readonly<Record<string, string>> }} how
 * @returns {Promise<Container>}
 */
export async function prepareContainer(image, service, { name, folder, mountFrom, hosts, environment = {} }) {
  const container = await runBuildah(['from', '--pull-never', image]);
  const root = await runBuildah(['mount', container]);
  const { config } = JSON.parse(await runBuildah(['inspect', '--type', 'image', image])).OCIv1;
  const settings = { ...service.environment, ...environment };
  const env = [...config.Env, ...Object.entries(settings).map(([setting, value]) => `${setting}=${value}`)];
  const [uid = 0, gid = 0] = (service.user ?? config.User).split(':').map(Number);
  const capabilities = (service.cap_add ?? []).map((each) => `CAP_${each}`);
  const mounts = [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
    bind(hosts, '/etc/hosts', true),
    ...(service.volumes ?? []).map((volume) => {
      const [source = '', destination = '', mode] = volume.split(':');
      return bind(mountFrom(source), destination, mode === 'ro');
    }),
  ];
  const bundle = path.join(folder, name);
  mkdirSync(bundle, { recursive: true });
  const spec = {
    ociVersion: '1.0.2',
    hostname: service.hostname ?? name,
    root: { path: root, readonly: service.read_only === true },
    process: {
      user: { uid, gid },
      cwd: '/',
      args: [...config.Entrypoint, ...(service.command ?? config.Cmd ?? [])],
      env,
      noNewPrivileges: true,
      capabilities: Object.fromEntries(
        ['bounding', 'effective', 'permitted'].map((set) => [set, capabilities]),
      ),
    },
    mounts,
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/scsi'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
      seccomp: seccomp(),
    },
  };
  writeFileSync(path.join(bundle, 'config.json'), JSON.stringify(spec));
  return { bundle, root, env };
}

/**
 * @param {string} source
 * @param {string} destination
 * @param {boolean} isReadOnly
 */
const bind = (source, destination, isReadOnly) => ({
  destination,
  type: 'bind',
  source,
  options: ['rbind', 'nosuid', 'nodev', ...(isReadOnly ? ['ro'] : [])],
});

/** The default profile of container engines, without the rules that a capability switches on. */
function seccomp() {
  const profile = JSON.parse(readFileSync(SECCOMP_PROFILE, 'utf8'));
  const machine = process.arch === 'arm64' ? 'arm64' : 'amd64';
  /** @type {{ includes?: { caps?: string[], arches?: string[] }, names: string[], action: string }[]} */
  const rules = profile.syscalls;
  const syscalls = rules
    .filter(({ includes }) => !includes?.caps?.length)
    .filter(({ includes }) => !includes?.arches?.length || includes.arches.includes(machine))
    .map(({ includes: _, ...rule }) => {
      const { excludes: __, comment: ___, errno: ____, ...kept } = /** @type {any} */ (rule);
      return kept;
    });
  const architectures = machine === 'arm64' ? ['SCMP_ARCH_AARCH64'] : ['SCMP_ARCH_X86_64'];
  return {
    defaultAction: profile.defaultAction,
    defaultErrnoRet: profile.defaultErrnoRet,
    architectures,
    syscalls,
  };
}
