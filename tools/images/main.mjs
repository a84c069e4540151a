// @ts-check
// `npm run images`: builds the images with Docker or buildah, and writes a bill of materials for each.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../embedded/child.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { billOfMaterials } from './bill-of-materials.mjs';
import { images, imagesFolder, makeContext, platforms } from './context.mjs';
import { debianBase } from './debian-base.mjs';
import { engine, layout, releaseStore } from './engine.mjs';
import { imageSizes } from './sizes.mjs';

const usage = `Builds the images of docker/Dockerfile with Docker or buildah, and writes their bills of materials.

  npm run images -- --base debian:bookworm-slim@sha256:…
  npm run images -- --base-from debootstrap

  --base <image@sha256:…>        base image, by digest; its libraries are in every image
  --base-from debootstrap        makes a base image from Debian's packages, without a registry; needs root
  --app <name>                   only this image; may be repeated (${images.join(', ')})
  --platform linux/amd64         or linux/arm64; may be repeated; default: that of this machine
  --tag <tag>                    default: the version of package.json
  --repository <prefix>          of the names of images; default localhost/certwright, as in localhost/certwright-orders-v3

Images for a further platform get its name behind the tag: 1.0.0-arm64. Output is in dist/images: oci (an OCI layout with
all images) and <image>-<platform>.cdx.json.
`;

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    'base-from': { type: 'string' },
    app: { type: 'string', multiple: true },
    platform: { type: 'string', multiple: true },
    tag: { type: 'string' },
    repository: { type: 'string', default: 'localhost/certwright' },
    help: { type: 'boolean' },
  },
});

/** @param {string} message */
function wrongUsage(message) {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}

const { version } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package.json'), 'utf8'));

async function main() {
  const names = values.app ?? images;
  const unknown = names.filter((name) => !images.includes(name));
  if (unknown.length > 0) wrongUsage(`There is no image ${unknown.join(', ')}.`);
  const own = os.arch() === 'arm64' ? 'arm64' : 'amd64';
  const architectures = (values.platform ?? [`linux/${own}`]).map((platform) => {
    const architecture = platform.replace('linux/', '');
    if (architecture !== 'amd64' && architecture !== 'arm64')
      return wrongUsage(
        `There are no images for ${platform}: choose from ${Object.keys(platforms).join(', ')}.`,
      );
    return architecture;
  });
  const { base, 'base-from': from } = values;
  if ((base === undefined) === (from === undefined)) wrongUsage('Set either --base or --base-from.');
  if (from !== undefined && from !== 'debootstrap') wrongUsage('--base-from must be debootstrap.');
  if (base !== undefined && !/@sha256:[0-9a-f]{64}$/.test(base))
    wrongUsage(`--base ${base} has no digest, without which a build cannot be repeated: name@sha256:…`);

  const made = engine();
  const { revision, epoch } = await commit();
  const created = new Date(epoch * 1_000).toISOString();
  console.log(`Bundling ${names.length} programs …`);
  await makeContext(names, architectures);
  rmSync(layout, { recursive: true, force: true });
  for (const architecture of architectures) {
    const baseImage = base ?? (await debianBase(architecture, made));
    const args = { BASE: baseImage, VERSION: version, REVISION: revision, CREATED: created };
    const build = { architecture, args, epoch };
    const status = await baseStatus(made, build);
    for (const image of names) {
      const suffix = architecture === own && architectures.length === 1 ? '' : `-${architecture}`;
      const tag = `${values.repository}-${image}:${values.tag ?? version}${suffix}`;
      await made.build({ ...build, target: image, tag });
      const bill = billOfMaterials({ image, architecture, version, revision, epoch, status });
      writeFileSync(
        path.join(imagesFolder, `${image}-${architecture}.cdx.json`),
        `${JSON.stringify(bill, null, 2)}\n`,
      );
      const { digest, appBytes, compressedBytes } = imageSizes(tag);
      const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
      console.log(`${tag}  ${digest}  app ${mb(appBytes)}, compressed ${mb(compressedBytes)}`);
    }
  }
}

/** Files and labels have the time of the commit, so that the same commit gives the same digest. */
async function commit() {
  const git = async (/** @type {string[]} */ ...args) =>
    (await run('git', args, { cwd: workspaceRoot })).stdout.trim();
  const [revision = '', time = ''] = (await git('log', '-1', '--format=%H %ct')).split(' ');
  const changes = await git('status', '--porcelain', '--untracked-files=no');
  if (changes !== '') console.log('The checkout has changes: the revision of the images ends with -changed.');
  const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? time);
  return { revision: changes === '' ? revision : `${revision}-changed`, epoch };
}

/**
 * @param {import('./engine.mjs').Engine} made
 * @param {Omit<import('./engine.mjs').Build, 'target'>} build
 */
async function baseStatus(made, build) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-base-'));
  try {
    mkdirSync(folder, { recursive: true });
    await made.extract({ ...build, target: 'base-packages', folder });
    return readFileSync(path.join(folder, 'status'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
let exitCode = 1;
try {
  await main();
  exitCode = 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  await releaseStore();
}
// The helper process of esbuild would keep this one.
process.exit(exitCode);
