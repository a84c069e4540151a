import { decodeBase64 } from './base64';

export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
}

export type DecodedPem =
  | { readonly ok: true; readonly blocks: readonly PemBlock[] }
  | { readonly ok: false; readonly fault: PemFault };

export type PemFault =
  | 'too_long'
  /** Text outside of every block. */
  | 'stray_line'
  /** Or one inside another. */
  | 'too_many_blocks'
  /** The END label differs from the BEGIN label. */
  | 'other_label'
  | 'not_base64'
  | 'no_end'
  | 'no_block';

/** Bytes of one block. */
const maxBlockBytes = 64 * 1024;

/** RFC 7468, section 2: lines of 64 characters, the last one shorter, each ended by a line feed. */
export function encodePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/**
 * Reads a sequence of at most `maxBlocks` PEM blocks (RFC 7468) with any line width and line end. White space around
 * lines and a byte order mark are ignored.
 *
 * @param textAround `ignored`: text may precede and follow blocks (section 2), as `openssl req -text` writes it
 */
export function decodePem(
  text: string,
  maxBlocks: number,
  textAround: 'refused' | 'ignored' = 'refused',
): DecodedPem {
  if (text.length > 2 * maxBlockBytes * maxBlocks) return refused('too_long');
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; body: string } | undefined;
  for (const line of text.split(/[\r\n]/).map((each) => each.trim())) {
    if (line === '') continue;
    const boundary = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 #]{0,63})-----$/.exec(line);
    if (boundary === null) {
      if (open !== undefined) open.body += line;
      else if (textAround === 'refused') return refused('stray_line');
      continue;
    }
    const [, kind, label = ''] = boundary;
    if (kind === 'BEGIN') {
      if (open !== undefined || blocks.length === maxBlocks) return refused('too_many_blocks');
      open = { label, body: '' };
      continue;
    }
    if (open?.label !== label) return refused('other_label');
    const decoded = decodeBase64(open.body, maxBlockBytes);
    if (!decoded.ok) return refused('not_base64');
    blocks.push({ label, der: decoded.bytes });
    open = undefined;
  }
  if (open !== undefined) return refused('no_end');
  return blocks.length === 0 ? refused('no_block') : { ok: true, blocks };
}

function refused(fault: PemFault): DecodedPem {
  return { ok: false, fault };
}
