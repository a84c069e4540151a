// @ts-check
// The build context of docker/Dockerfile: for each processor a root folder with Node.js and what every image has, and for
// each image the files of its app. The same commit gives the same bytes.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { bundle, entryPointsOf } from '../build/bundle.mjs';
import { run } from '../embedded/child.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { stripElf } from './strip-elf.mjs';

export const imagesFolder = path.join(workspaceRoot, 'dist/images');
export const contextFolder = path.join(imagesFolder, 'context');

/** Processors by the names of images, with those of npm. */
export const platforms = /** @type {const} */ ({ amd64: 'x64', arm64: 'arm64' });
/** @typedef {keyof typeof platforms} Architecture */

/** The program on customers' hosts has packages of its own (tools/agent-package), and no image. */
const isOfPlatform = (/** @type {string} */ app) => app !== 'agent';

/** Every image: an app, or the commands. */
export const images = [...readdirSync(path.join(workspaceRoot, 'apps')).filter(isOfPlatform).sort(), 'tools'];

/** @param {string} image */
const projectOf = (image) => (image === 'tools' ? image : `apps/${image}`);
/** @param {string} image */
export const bundleOf = (image) => path.join(workspaceRoot, 'dist', projectOf(image));
/** @param {string} image */
const sourceOf = (image) => entryPointsOf(projectOf(image)).main ?? '';

/** Names of files, and of the folder with the page of an API's documentation. */
const appFiles = ['main.js', 'main.js.map', 'debian-openssl.txt', 'swagger-ui'];

/**
 * @param {readonly string[]} names of images
 * @param {readonly Architecture[]} architectures
 */
export async function makeContext(names, architectures) {
  await Promise.all(
    names.map((name) => bundle({ main: sourceOf(name) }, path.relative(workspaceRoot, bundleOf(name)))),
  );
  rmSync(contextFolder, { recursive: true, force: true });
  for (const name of names) {
    const folder = path.join(contextFolder, 'apps', name);
    mkdirSync(folder, { recursive: true });
    for (const file of appFiles) {
      const source = path.join(bundleOf(name), file);
      if (existsSync(source)) cpSync(source, path.join(folder, file), { recursive: true });
    }
  }
  // The record policy looks for its file in apps/dns-gateway/data of a parent folder.
  if (names.includes('dns-gateway')) {
    const data = 'apps/dns-gateway/data';
    cpSync(path.join(workspaceRoot, data), path.join(contextFolder, 'apps/dns-gateway', data), {
      recursive: true,
    });
  }
  for (const architecture of architectures) await makeRoot(architecture);
  normalizeModes(contextFolder);
}

/** @param {Architecture} architecture */
async function makeRoot(architecture) {
  const root = path.join(contextFolder, `root-${architecture}`);
  cpSync(path.join(workspaceRoot, 'docker/root'), root, { recursive: true });
  const roots = path.join(root, 'etc/ssl/certs/ca-certificates.crt');
  mkdirSync(path.dirname(roots), { recursive: true });
  // The roots of Mozilla that Node.js contains, for what expects a file, such as sslrootcert of a database URL.
  const write = `require('fs').writeFileSync(process.argv[1], require('tls').rootCertificates.join('\\n') + '\\n')`;
  await run(nodeBinary(), ['-e', write, roots]);
  const node = path.join(root, 'usr/bin/node');
  mkdirSync(path.dirname(node), { recursive: true });
  writeFileSync(node, stripElf(readFileSync(await nodeProgram(architecture))));
  chmodSync(node, 0o755);
}

/**
 * Node.js of the lock file. npm installs it for this machine only; that of another processor is downloaded once.
 * @param {Architecture} architecture
 */
export async function nodeProgram(architecture) {
  const name = `node-linux-${platforms[architecture]}`;
  const installed = path.join(workspaceRoot, 'node_modules', name, 'bin/node');
  if (existsSync(installed)) return installed;
  const { version, integrity } = lockedPackage(name);
  const folder = path.join(imagesFolder, 'node', `${name}-${version}`);
  const program = path.join(folder, 'package/bin/node');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  console.log(`Downloading ${name} ${version} …`);
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`], {
    timeoutMs: 10 * 60_000,
  });
  const archive = path.join(folder, packed.stdout.trim());
  const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (digest !== integrity)
    throw new Error(
      `${archive} is not the file of package-lock.json. Delete it, and check the npm registry.`,
    );
  await run('tar', ['-xzf', archive, '-C', folder], { timeoutMs: 60_000 });
  return program;
}

/** @param {string} name */
export function lockedPackage(name) {
  const { packages } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package-lock.json'), 'utf8'));
  return packages[`node_modules/${name}`];
}

/**
 * The modes of files in a checkout depend on the umask of its owner.
 * @param {string} folder
 */
function normalizeModes(folder) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, entry.name);
    if (entry.isDirectory()) normalizeModes(place);
    else chmodSync(place, entry.name === 'node' ? 0o755 : 0o644);
  }
}
