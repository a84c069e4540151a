import { createHash } from 'node:crypto';
import { ContractError } from './contract-error';

/** Bytes. File systems allow 255; suffixes such as `.new` come after it. */
const maxFolderBytes = 200;

/**
 * The one form of an order's name in paths and arguments. Every byte of its UTF-8 except `a-z 0-9 - _ .`, and a dot at
 * the beginning, is `%` and two upper-case hexadecimal digits. What is longer than 200 bytes becomes `%sha256-` and the
 * hash of the name, which no shorter name can have: after `%`, `s` is not a hexadecimal digit.
 */
export function orderFolder(name: string): string {
  if (name === '' || !name.isWellFormed())
    throw new ContractError('malformed', 'the name of an order is empty or not well-formed Unicode');
  const encoded = [...Buffer.from(name)]
    .map((byte, index) => {
      const character = String.fromCharCode(byte);
      const isPlain = /[a-z0-9_.-]/.test(character) && !(index === 0 && character === '.');
      return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
  if (encoded.length <= maxFolderBytes) return encoded;
  return `%sha256-${createHash('sha256').update(name).digest('hex')}`;
}
