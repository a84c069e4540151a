// @ts-check
// What builds images: Docker with buildx, or buildah. Both get the same Dockerfile and context.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { unmountBelow } from '../embedded/mounts.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { contextFolder, imagesFolder } from './context.mjs';

const BUILD_TIMEOUT_MS = 20 * 60_000;
/** OCI layout with all images: a release pushes from it, and its digests are those of the registry. */
export const layout = path.join(imagesFolder, 'oci');
const dockerfile = path.join(workspaceRoot, 'docker/Dockerfile');

/**
 * @typedef {import('./context.mjs').Architecture} Architecture
 * @typedef {object} Build
 * @property {string} target of the Dockerfile
 * @property {Architecture} architecture
 * @property {Readonly<Record<string, string>>} args build arguments
 * @property {number} epoch seconds since 1970, of every file and of the image
 *
 * @typedef {object} Engine
 * @property {string} name
 * @property {(build: Build & { tag: string }) => Promise<void>} build an image with this tag, also in the layout
 * @property {(build: Build & { folder: string }) => Promise<void>} extract the files of a target
 * @property {(folder: string, tag: string, architecture: Architecture) => Promise<void>} importBase
 */

/** @returns {Engine} */
export function engine() {
  if (answers('docker', ['buildx', 'version']) && answers('docker', ['info'])) return docker;
  if (answers('buildah', ['--version'])) return buildah;
  throw new Error(
    'Neither Docker with buildx nor buildah runs on this machine. Install one of them (Debian: apt-get install buildah).',
  );
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
const answers = (program, args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** @param {Build} build */
const common = ({ target, architecture, args }) => [
  ...['--file', dockerfile, '--target', target, '--platform', `linux/${architecture}`],
  ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
];

/** @type {string[] | undefined} */
let store;

/** In a store of its own, so that the user's images do not change. Where overlay mounts are not possible, vfs copies files. */
function storeOptions() {
  const at = (/** @type {string} */ driver) => [
    ...[
      '--root',
      path.join(imagesFolder, 'store', driver),
      '--runroot',
      path.join(imagesFolder, 'run', driver),
    ],
    ...['--storage-driver', driver],
  ];
  if (store === undefined) {
    mkdirSync(imagesFolder, { recursive: true });
    const tried = spawnSync('buildah', [...at('overlay'), 'from', '--name', 'tried', 'scratch'], {
      stdio: 'ignore',
    });
    const mounted = spawnSync('buildah', [...at('overlay'), 'mount', 'tried'], { stdio: 'ignore' });
    store = at(tried.status === 0 && mounted.status === 0 ? 'overlay' : 'vfs');
    spawnSync('buildah', [...at('overlay'), 'rm', 'tried'], { stdio: 'ignore' });
  }
  return store;
}

/** buildah leaves its store mounted, which then cannot be removed. */
export async function releaseStore() {
  if (existsSync('/proc/self/mounts')) await unmountBelow(path.join(imagesFolder, 'store'));
}

/** @param {readonly string[]} args */
export async function runBuildah(args) {
  const { stdout } = await run('buildah', [...storeOptions(), ...args], { timeoutMs: BUILD_TIMEOUT_MS });
  return stdout.trim();
}

/** @type {Engine} */
const buildah = {
  name: 'buildah',
  build: async ({ tag, epoch, ...build }) => {
    const how = ['--isolation', 'chroot', '--layers', '--format', 'oci', '--timestamp', String(epoch)];
    await runBuildah([
      'build',
      '--quiet',
      ...how,
      ...common({ ...build, epoch }),
      '--tag',
      tag,
      contextFolder,
    ]);
    await runBuildah(['push', '--quiet', tag, `oci:${layout}:${tag}`]);
  },
  extract: async ({ folder, ...build }) => {
    const how = ['--isolation', 'chroot', '--layers', '--output', `type=local,dest=${folder}`];
    await runBuildah(['build', '--quiet', ...how, ...common(build), contextFolder]);
  },
  importBase: async (folder, tag, architecture) => {
    const container = await runBuildah(['from', 'scratch']);
    await runBuildah(['copy', '--quiet', container, folder, '/']);
    await runBuildah(['config', '--arch', architecture, '--os', 'linux', container]);
    await runBuildah(['commit', '--quiet', '--rm', '--timestamp', '0', container, tag]);
  },
};

/** @type {Engine} */
const docker = {
  name: 'docker',
  build: async ({ tag, ...build }) => {
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(build.epoch) };
    const how = ['buildx', 'build', '--quiet', '--provenance=false', '--sbom=false'];
    const archive = path.join(imagesFolder, `${tag.replaceAll(/[^\w.-]/g, '_')}.tar`);
    const output = `type=oci,dest=${archive},name=${tag},rewrite-timestamp=true`;
    const outputs = ['--output', output, '--output', `type=docker,name=${tag},rewrite-timestamp=true`];
    await run('docker', [...how, ...common(build), ...outputs, contextFolder], {
      env,
      timeoutMs: BUILD_TIMEOUT_MS,
    });
    await run('tar', ['-xf', archive, '-C', imagesFolder, '--one-top-level=unpacked']);
    addToLayout(path.join(imagesFolder, 'unpacked'), tag);
  },
  extract: async ({ folder, ...build }) => {
    const output = ['--output', `type=local,dest=${folder}`];
    await run('docker', ['buildx', 'build', '--quiet', ...common(build), ...output, contextFolder], {
      timeoutMs: BUILD_TIMEOUT_MS,
    });
  },
  importBase: async (folder, tag, architecture) => {
    const archive = path.join(imagesFolder, `base-${architecture}.tar`);
    await run('tar', [
      '-cf',
      archive,
      '--sort=name',
      '--mtime=@0',
      '--owner=0',
      '--group=0',
      '-C',
      folder,
      '.',
    ]);
    await run('docker', ['import', '--platform', `linux/${architecture}`, archive, tag]);
  },
};

/**
 * Docker exports a layout per image; this adds it to the layout of all.
 * @param {string} exported
 * @param {string} tag
 */
function addToLayout(exported, tag) {
  const read = (/** @type {string} */ file) => JSON.parse(readFileSync(file, 'utf8'));
  const index = path.join(layout, 'index.json');
  const known = existsSync(index) ? read(index).manifests : [];
  cpSync(exported, layout, { recursive: true });
  rmSync(exported, { recursive: true });
  const added = read(index);
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  const manifests = added.manifests.map((/** @type {object} */ each) => ({ ...each, annotations }));
  writeFileSync(index, JSON.stringify({ ...added, manifests: [...known, ...manifests] }));
}
