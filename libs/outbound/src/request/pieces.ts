/** Small pieces are copied into blocks of this size: a one-byte Buffer takes a hundred bytes of memory. */
const blockBytes = 16_384;
const smallPiece = 2_048;

/** Collects the pieces of a body in little memory, even when they are small. */
export class Pieces {
  /** Total bytes. */
  length = 0;
  private pieces: Buffer[] = [];
  private block = Buffer.alloc(0);
  private used = 0;

  push(piece: Buffer): void {
    this.length += piece.length;
    if (piece.length >= smallPiece) {
      this.endBlock();
      this.pieces.push(piece);
      return;
    }
    if (this.used + piece.length > this.block.length) {
      this.endBlock();
      this.block = Buffer.allocUnsafe(blockBytes);
    }
    this.block.set(piece, this.used);
    this.used += piece.length;
  }

  /** Returns all pieces as one Buffer, and forgets them. */
  take(): Buffer {
    this.endBlock();
    const [first] = this.pieces;
    const whole = this.pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.pieces);
    this.pieces = [];
    this.length = 0;
    return whole;
  }

  private endBlock(): void {
    if (this.used > 0) this.pieces.push(this.block.subarray(0, this.used));
    this.block = this.block.subarray(this.used);
    this.used = 0;
  }
}
