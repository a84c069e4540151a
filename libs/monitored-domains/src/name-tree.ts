import { LabelPool } from './label-pool';
import { mixed, SlotTable, withRoom } from './slot-table';

/** Above all top-level domains. Also "none": no node has it as child or sibling. */
export const root = 0;

const fullStop = 0x2e;

/**
 * The names of monitored domains as a tree of labels, top-level domains first. A node is a positive integer. A name of a
 * certificate is followed from its last label on, and for most names ends at the second or third lookup. With a million
 * names, a lookup of each parent of a name in a `Map` took ten times as long.
 */
export class NameTree {
  private parents = new Int32Array(64);
  private labelPositions = new Int32Array(64);
  private labelLengths = new Uint8Array(64);
  private firstChildren = new Int32Array(64);
  private nextSiblings = new Int32Array(64);
  private previousSiblings = new Int32Array(64);
  private readonly labels = new LabelPool();
  private readonly slots = new SlotTable();
  /** Longer than any name. */
  private readonly written = Buffer.alloc(256);
  private nodes = 1;
  /** Released nodes, linked by `nextSiblings`. */
  private free = root;

  firstChild(node: number): number {
    return this.firstChildren[node] ?? root;
  }

  nextSibling(node: number): number {
    return this.nextSiblings[node] ?? root;
  }

  /** The child whose label is `text` from `start` to `end`, or `root`: there is none. */
  child(parent: number, text: string, start: number, end: number): number {
    const hash = hashOf(parent, text, start, end);
    const { pairs, mask } = this.slots;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const node = pairs[2 * slot + 1] ?? 0;
      if (node === 0) return root;
      if (pairs[2 * slot] === hash && this.isChild(node, parent, text, start, end)) return node;
    }
  }

  private isChild(node: number, parent: number, text: string, start: number, end: number): boolean {
    if (this.parents[node] !== parent || this.labelLengths[node] !== end - start) return false;
    return this.labels.equals(this.labelPositions[node] ?? 0, text, start, end);
  }

  /** Whether the label of the node matches a label with asterisks, `text` from `start` to `end`. */
  matchesPattern(node: number, text: string, start: number, end: number): boolean {
    const position = this.labelPositions[node] ?? 0;
    return this.labels.matches(position, this.labelLengths[node] ?? 0, text, start, end);
  }

  /** The node of the name that is `text` from `start` on, or `root`. */
  find(text: string, start: number): number {
    let node = root;
    for (let end = text.length; end > start;) {
      const labelStart = startOfLabel(text, start, end);
      node = this.child(node, text, labelStart, end);
      if (node === root) return root;
      end = labelStart - 1;
    }
    return node;
  }

  /** The same; creates what is missing. */
  ensure(text: string, start: number): number {
    let node = root;
    for (let end = text.length; end > start;) {
      const labelStart = startOfLabel(text, start, end);
      const child = this.child(node, text, labelStart, end);
      node = child === root ? this.create(node, text, labelStart, end) : child;
      end = labelStart - 1;
    }
    return node;
  }

  private create(parent: number, text: string, start: number, end: number): number {
    const node = this.allocate();
    this.parents[node] = parent;
    this.labelPositions[node] = this.labels.store(text, start, end);
    this.labelLengths[node] = end - start;
    this.firstChildren[node] = root;
    this.previousSiblings[node] = root;
    const next = this.firstChild(parent);
    this.nextSiblings[node] = next;
    if (next !== root) this.previousSiblings[next] = node;
    this.firstChildren[parent] = node;
    this.slots.add(hashOf(parent, text, start, end), node);
    return node;
  }

  private allocate(): number {
    if (this.free !== root) {
      const node = this.free;
      this.free = this.nextSibling(node);
      return node;
    }
    const node = this.nodes;
    this.nodes += 1;
    this.parents = withRoom(this.parents, node);
    this.labelPositions = withRoom(this.labelPositions, node);
    this.labelLengths = withRoom(this.labelLengths, node);
    this.firstChildren = withRoom(this.firstChildren, node);
    this.nextSiblings = withRoom(this.nextSiblings, node);
    this.previousSiblings = withRoom(this.previousSiblings, node);
    return node;
  }

  /** Removes the node and its ancestors that nothing needs: without children, and not `isNeeded`. */
  prune(from: number, isNeeded: (node: number) => boolean): void {
    for (let node = from; node !== root && this.firstChild(node) === root && !isNeeded(node);) {
      const parent = this.parents[node] ?? root;
      this.remove(node, parent);
      node = parent;
    }
  }

  private remove(node: number, parent: number): void {
    const label = this.written.toString('latin1', 0, this.writeLabel(node, 0));
    this.slots.remove(hashOf(parent, label, 0, label.length), node);
    this.labels.release(this.labelPositions[node] ?? 0, label.length);
    const [previous, next] = [this.previousSiblings[node] ?? root, this.nextSibling(node)];
    if (previous === root) this.firstChildren[parent] = next;
    else this.nextSiblings[previous] = next;
    if (next !== root) this.previousSiblings[next] = previous;
    this.nextSiblings[node] = this.free;
    this.free = node;
  }

  nameOf(from: number): string {
    let length = 0;
    for (let node = from; node !== root; node = this.parents[node] ?? root) {
      if (length > 0) this.written[length++] = fullStop;
      length = this.writeLabel(node, length);
    }
    return this.written.toString('latin1', 0, length);
  }

  private writeLabel(node: number, offset: number): number {
    const [position, length] = [this.labelPositions[node] ?? 0, this.labelLengths[node] ?? 0];
    return this.labels.copy(position, length, this.written, offset);
  }
}

/** Start of the label that ends at `end`; not before `start`. Never reads further back, as `lastIndexOf` would. */
export function startOfLabel(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && text.charCodeAt(at - 1) !== fullStop) at -= 1;
  return at;
}

function hashOf(parent: number, text: string, start: number, end: number): number {
  let hash = mixed(parent);
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mixed(hash);
}
