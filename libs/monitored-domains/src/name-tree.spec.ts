import { LabelPool } from './label-pool';
import { NameTree, root } from './name-tree';
import { SlotTable } from './slot-table';

it('a table finds exactly the items that were added and not removed, even if their hashes collide', () => {
  const table = new SlotTable();
  const items = new Map<number, number>();
  const isFound = (hash: number, item: number) => {
    for (let slot = hash & table.mask; table.pairs[2 * slot + 1] !== 0; slot = (slot + 1) & table.mask)
      if (table.pairs[2 * slot + 1] === item) return table.pairs[2 * slot] === hash;
    return false;
  };
  for (let step = 1; step <= 20_000; step += 1) {
    const item = 1 + ((step * 7_919) % 601);
    // Some sequences of slots continue at the start of the table.
    const hash = item % 3 === 0 ? -1 - (item % 40) : item % 50;
    if (items.delete(item)) table.remove(hash, item);
    else {
      items.set(item, hash);
      table.add(hash, item);
    }
    expect(isFound(hash, item)).toBe(items.has(item));
    if (step % 500 === 0) for (const [each, its] of items) expect(isFound(its, each)).toBe(true);
  }
  for (const [item, hash] of items) table.remove(hash, item);
  expect(table.pairs.every((number) => number === 0)).toBe(true);
});

it('the tree reuses what names occupied that are no longer needed', () => {
  const tree = new NameTree();
  const kept = tree.ensure('kept.example.com', 0);
  const isNeeded = (node: number) => node === kept;
  const nodes = new Set<number>();
  for (let nth = 0; nth < 1_000; nth += 1) {
    const node = tree.ensure(`a${nth}.b${nth}.example.com`, 0);
    nodes.add(node);
    tree.prune(node, isNeeded);
    expect(tree.find(`b${nth}.example.com`, 0)).toBe(root);
  }
  expect(nodes.size).toBeLessThan(3);
  expect(tree.nameOf(kept)).toBe('kept.example.com');
  expect(tree.find('kept.example.com', 0)).toBe(kept);
  tree.prune(kept, () => false);
  expect(tree.firstChild(root)).toBe(root);
});

it('labels use the pieces of released ones', () => {
  const pool = new LabelPool();
  const positions = ['abcd', 'abcdefgh', 'www', 'l'.repeat(63)].map((label) => ({
    label,
    position: pool.store(label, 0, label.length),
  }));
  for (const { label, position } of positions) pool.release(position, label.length);
  for (const { label, position } of [...positions].slice(0, 3).reverse()) {
    const stored = pool.store(label, 0, label.length);
    expect(positions.map((each) => each.position)).toContain(stored);
    expect(pool.equals(stored, label, 0, label.length)).toBe(true);
    expect(position).toBeGreaterThan(0);
  }
});
