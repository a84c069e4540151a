import type { TakePosting } from '@certwright/posting-index';
import type { RunSource } from './run-source';

/** Postings of several runs, ordered by key and position: a heap, whose root is the smallest. */
export class MergedPostings {
  private heap: RunSource[] = [];
  /** Sources without buffered postings that are not at their end. */
  private wanting: RunSource[];

  /** @param sources ordered by position, nothing fetched yet */
  constructor(sources: readonly RunSource[]) {
    this.wanting = [...sources];
  }

  get isDone(): boolean {
    return this.heap.length === 0 && this.wanting.length === 0;
  }

  /** Continues while blocks are buffered. */
  run(take: TakePosting): void {
    for (const source of this.wanting) if (source.next()) this.push(source);
    this.wanting = [];
    for (;;) {
      const source = this.heap[0];
      if (source === undefined) return;
      if (!this.takeKey(source, take)) {
        this.pop();
        if (source.isFetched) continue;
        this.wanting = [source];
        return;
      }
      this.sink(0);
    }
  }

  /** All buffered postings of the source under its key. @returns false: nothing is buffered after that */
  private takeKey(source: RunSource, take: TakePosting): boolean {
    for (;;) {
      const { reader } = source;
      if (reader === null) return false;
      const { key, goesOn } = reader;
      take(key, reader.position, reader.day);
      if (!source.next()) return false;
      if (!goesOn) return true;
    }
  }

  private push(source: RunSource): void {
    const { heap } = this;
    let at = heap.push(source) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    this.sink(0);
  }

  private sink(from: number): void {
    for (let at = from; ;) {
      let least = at;
      const left = 2 * at + 1;
      if (this.isBefore(left, least)) least = left;
      if (this.isBefore(left + 1, least)) least = left + 1;
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }

  private isBefore(one: number, other: number): boolean {
    const a = this.heap[one];
    const b = this.heap[other];
    if (a === undefined || b === undefined) return false;
    const keyOfA = a.reader?.key ?? 0;
    const keyOfB = b.reader?.key ?? 0;
    return keyOfA < keyOfB || (keyOfA === keyOfB && a.nth < b.nth);
  }

  private swap(one: number, other: number): void {
    const a = this.heap[one];
    const b = this.heap[other];
    if (a === undefined || b === undefined) return;
    this.heap[one] = b;
    this.heap[other] = a;
  }
}
