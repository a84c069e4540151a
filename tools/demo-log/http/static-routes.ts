import { type HashTile, rfc6962KeyId, tileWidth } from '@certwright/ct';
import type { CtLog } from '../log/ct-log';
import type { PublishedHead } from '../log/published-head';
import { tileLeaf } from '../log/stored-entry';
import { uint } from '../log/tls';
import { type LogResponse, RequestFault, type Routes } from './response';

/** For content that never changes (static-ct-api leaves caching of tiles and issuers to the server). */
const forEver = { 'cache-control': 'public, max-age=604800, immutable' };

/**
 * Read API of static-ct-api. The head determines which tiles exist; partial tiles exist in every width up to the
 * size of the head.
 *
 * @param path below the monitoring prefix
 * @param origin first line of checkpoints
 */
export function staticRoutes(log: CtLog, path: string, origin: string): Routes | undefined {
  if (path === 'checkpoint')
    return { GET: async () => checkpointResponse(origin, log.signer.logId, await log.head()) };
  const [, fingerprint] = /^issuer\/([0-9a-f]{64})$/.exec(path) ?? [];
  if (fingerprint !== undefined) return { GET: () => issuerResponse(log, fingerprint) };
  const tile = tileAt(path);
  if (tile === undefined) return undefined;
  return {
    GET: async () =>
      await (tile.level === 'data' ? dataTile(log, tile) : hashTile(log, { ...tile, level: tile.level })),
  };
}

/** A signed note (c2sp.org/signed-note) with an RFC6962NoteSignature (static-ct-api, "Checkpoints"). */
function checkpointResponse(origin: string, logId: Buffer, head: PublishedHead): LogResponse {
  const { treeSize, rootHash, timestamp, signature } = head;
  const noteSignature = Buffer.concat([uint(rfc6962KeyId(origin, logId), 4), uint(timestamp, 8), signature]);
  const text = `${origin}\n${treeSize}\n${rootHash.toString('base64')}\n`;
  const note = `${text}\n\u2014 ${origin} ${noteSignature.toString('base64')}\n`;
  return {
    type: 'text/plain; charset=utf-8',
    body: Buffer.from(note, 'utf8'),
    headers: { 'cache-control': 'no-store' },
  };
}

function issuerResponse(log: CtLog, fingerprint: string): LogResponse {
  const body = log.issuer(fingerprint);
  if (body === undefined) throw new RequestFault(404, 'No chain of this log contains this certificate.');
  return { type: 'application/pkix-cert', body, headers: forEver };
}

type RequestedTile = Omit<HashTile, 'level'> & { readonly level: number | 'data' };

async function hashTile(log: CtLog, tile: HashTile): Promise<LogResponse> {
  const { treeSize } = await log.head();
  const covered = (tile.index * tileWidth + tile.width) * tileWidth ** tile.level;
  const body = covered > treeSize ? undefined : log.tree.tile(tile);
  if (body === undefined) throw noSuchTile();
  return { type: 'application/octet-stream', body, headers: forEver };
}

async function dataTile(log: CtLog, { index, width }: RequestedTile): Promise<LogResponse> {
  const { treeSize } = await log.head();
  const first = index * tileWidth;
  if (first + width > treeSize) throw noSuchTile();
  const leaves: Buffer[] = [];
  while (leaves.length < width) {
    const entries = await log.entries(first + leaves.length, first + width);
    leaves.push(...entries.map(tileLeaf));
  }
  return {
    type: 'application/octet-stream',
    body: Buffer.concat(leaves),
    headers: forEver,
    compressible: true,
  };
}

const noSuchTile = () => new RequestFault(404, 'The tree has no such tile yet.');

/** `tile/<level>/<index>` in groups of three digits, `.p/<width>` after it when it is not full. */
function tileAt(path: string): RequestedTile | undefined {
  const [, level, groups, last, partial] =
    /^tile\/([0-5]|data)\/((?:x\d{3}\/){0,4})(\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? [];
  if (level === undefined || groups === undefined || last === undefined) return undefined;
  const width = partial === undefined ? tileWidth : Number(partial);
  // Exactly one path per tile: no leading zeros, and no partial path for a full tile.
  if (groups.startsWith('x000/') || (partial !== undefined && width >= tileWidth)) return undefined;
  const index = Number(groups.replaceAll(/[x/]/g, '') + last);
  return { level: level === 'data' ? level : Number(level), index, width };
}
