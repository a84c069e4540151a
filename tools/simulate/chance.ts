import { hash } from 'node:crypto';

/** A number in [0, 1) that depends only on the seed and the purpose of the draw. */
export class Chance {
  constructor(private readonly seed: string) {}

  of(...what: readonly (string | number)[]): number {
    const digest = hash('sha256', [this.seed, ...what].join('\n'), 'buffer');
    return digest.readUIntBE(0, 6) / 2 ** 48;
  }

  happens(probability: number, ...what: readonly (string | number)[]): boolean {
    return probability > 0 && this.of(...what) < probability;
  }

  between(min: number, max: number, ...what: readonly (string | number)[]): number {
    return min + (max - min) * this.of(...what);
  }
}
