/** RFC 4648, section 6, in lower case: DNS labels are case-insensitive. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Random bytes of a secret in an address: 160 bits cannot be guessed. */
export const secretBytes = 20;

/** @param random 20 bytes, which make 32 characters without padding */
export function secretLabel(random: Uint8Array): string {
  let label = '';
  let bits = 0;
  let held = 0;
  for (const byte of random) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) label += alphabet.charAt((held >> (bits - 5)) & 31);
    held &= (1 << bits) - 1;
  }
  return label;
}
