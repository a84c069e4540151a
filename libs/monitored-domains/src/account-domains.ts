import { mixed, SlotTable, withRoom } from './slot-table';

/** The monitored domains of one account at one node, as bits: the name itself, and the tree with the leading dot. */
export const exact = { isSet: 1, isEnabled: 2 } as const;
export const tree = { isSet: 4, isEnabled: 8 } as const;

/** No entry. */
export const none = 0;

/**
 * Entries, each with what one account monitors at one node of the tree of names. An entry is a positive integer; the
 * entries of a node are a list.
 */
export class AccountDomains {
  private firsts = new Int32Array(64);
  private nexts = new Int32Array(64);
  private previous = new Int32Array(64);
  private nodes = new Int32Array(64);
  private accounts = new Int32Array(64);
  private bits = new Uint8Array(64);
  private readonly slots = new SlotTable();
  private entries = 1;
  /** Released entries, linked by `nexts`. */
  private free = none;

  first(node: number): number {
    return this.firsts[node] ?? none;
  }

  next(entry: number): number {
    return this.nexts[entry] ?? none;
  }

  accountOf(entry: number): number {
    return this.accounts[entry] ?? 0;
  }

  nodeOf(entry: number): number {
    return this.nodes[entry] ?? 0;
  }

  /** Bits of `exact` and `tree`. */
  bitsOf(entry: number): number {
    return this.bits[entry] ?? 0;
  }

  /** A hash lookup, because many accounts may monitor the same name. */
  find(node: number, account: number): number {
    const hash = hashOf(node, account);
    const { pairs, mask } = this.slots;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = pairs[2 * slot + 1] ?? none;
      if (entry === none) return none;
      if (pairs[2 * slot] === hash && this.nodes[entry] === node && this.accounts[entry] === account)
        return entry;
    }
  }

  /** Replaces the bits of an account at a node; 0 removes the entry. */
  set(node: number, account: number, bits: number): void {
    const found = this.find(node, account);
    if (bits === 0) {
      if (found !== none) this.remove(found, node, account);
      return;
    }
    const entry = found === none ? this.create(node, account) : found;
    this.bits[entry] = bits;
  }

  private create(node: number, account: number): number {
    const entry = this.allocate();
    this.firsts = withRoom(this.firsts, node);
    this.nodes[entry] = node;
    this.accounts[entry] = account;
    this.previous[entry] = none;
    const next = this.first(node);
    this.nexts[entry] = next;
    if (next !== none) this.previous[next] = entry;
    this.firsts[node] = entry;
    this.slots.add(hashOf(node, account), entry);
    return entry;
  }

  private allocate(): number {
    if (this.free !== none) {
      const entry = this.free;
      this.free = this.next(entry);
      return entry;
    }
    const entry = this.entries;
    this.entries += 1;
    this.nexts = withRoom(this.nexts, entry);
    this.previous = withRoom(this.previous, entry);
    this.nodes = withRoom(this.nodes, entry);
    this.accounts = withRoom(this.accounts, entry);
    this.bits = withRoom(this.bits, entry);
    return entry;
  }

  private remove(entry: number, node: number, account: number): void {
    this.slots.remove(hashOf(node, account), entry);
    const [previous, next] = [this.previous[entry] ?? none, this.next(entry)];
    if (previous === none) this.firsts[node] = next;
    else this.nexts[previous] = next;
    if (next !== none) this.previous[next] = previous;
    this.nexts[entry] = this.free;
    this.free = entry;
  }
}

function hashOf(node: number, account: number): number {
  return mixed(mixed(node) + account);
}
