// @ts-check
// Digests and sizes of an image in the OCI layout.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { layout } from './engine.mjs';

/** @param {string} digest */
const blob = (digest) => path.join(layout, 'blobs', digest.replace(':', '/'));

/**
 * @param {string} tag
 * @returns {{ digest: string, appBytes: number, compressedBytes: number }} appBytes: of the layer with the app, not compressed
 */
export function imageSizes(tag) {
  const index = JSON.parse(readFileSync(path.join(layout, 'index.json'), 'utf8'));
  const named = index.manifests.find(
    (/** @type {any} */ each) => each.annotations?.['org.opencontainers.image.ref.name'] === tag,
  );
  if (named === undefined || !existsSync(blob(named.digest))) throw new Error(`${tag} is not in ${layout}.`);
  /** @type {{ layers: { digest: string, size: number }[], config: { size: number } }} */
  const { layers, config } = JSON.parse(readFileSync(blob(named.digest), 'utf8'));
  const compressedBytes = layers.reduce((sum, { size }) => sum + size, config.size);
  const app = layers.at(-1);
  const appBytes = app === undefined ? 0 : gunzipSync(readFileSync(blob(app.digest))).length;
  return { digest: named.digest, appBytes, compressedBytes };
}
