/** RFC 4648, section 6, in lower case: a DNS label does not tell cases apart. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** @param random 20 bytes, which make 32 characters without padding */
export function delegationLabel(random: Uint8Array): string {
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
