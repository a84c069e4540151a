// @ts-check
// Removes what only debuggers and linkers read from a program: everything behind its last segment, which is the symbols
// and the table of sections. Works for programs of other processors, where `strip` of this machine does not.

/**
 * @param {Buffer} program 64-bit, little-endian (amd64, arm64)
 * @returns {Buffer}
 */
export function stripElf(program) {
  const isElf = program.readUInt32BE(0) === 0x7f454c46 && program[4] === 2 && program[5] === 1;
  if (!isElf)
    throw new Error('Node.js for Linux was expected: a 64-bit ELF program with little-endian numbers.');
  const headers = Number(program.readBigUInt64LE(0x20));
  const [size, count] = [program.readUInt16LE(0x36), program.readUInt16LE(0x38)];
  let end = headers + size * count;
  for (let index = 0; index < count; index++) {
    const at = headers + size * index;
    const [offset, length] = [program.readBigUInt64LE(at + 0x08), program.readBigUInt64LE(at + 0x20)];
    end = Math.max(end, Number(offset + length));
  }
  const stripped = Buffer.from(program.subarray(0, end));
  // e_shoff, e_shnum and e_shstrndx: there is no table of sections any more.
  stripped.writeBigUInt64LE(0n, 0x28);
  stripped.writeUInt16LE(0, 0x3c);
  stripped.writeUInt16LE(0, 0x3e);
  return stripped;
}
