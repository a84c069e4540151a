import { type AST, parseTOML } from 'toml-eslint-parser';

/** A value of a TOML file and where it is. Lines start at 1. */
export type TomlNode = TomlTable | TomlArray | TomlScalar;

export interface TomlTable {
  readonly kind: 'table';
  readonly line: number;
  readonly members: Map<string, TomlNode>;
}

export interface TomlArray {
  readonly kind: 'array';
  readonly line: number;
  readonly items: TomlNode[];
}

export interface TomlScalar {
  readonly kind: 'scalar';
  readonly line: number;
  readonly value: string | number | boolean | Date;
}

export type TomlReading =
  | { readonly ok: true; readonly root: TomlTable }
  | { readonly ok: false; readonly line: number; readonly message: string };

/** Reads TOML 1.0. The parser refuses keys that are defined twice. */
export function readToml(text: string): TomlReading {
  try {
    const root = table(1);
    const [top] = parseTOML(text, { tomlVersion: '1.0' }).body;
    for (const node of top.body) {
      if (node.type === 'TOMLTable') addTable(root, node);
      else addKeyValue(root, node);
    }
    return { ok: true, root };
  } catch (error) {
    const { lineNumber, message } = error as Error & { readonly lineNumber?: number };
    if (typeof lineNumber !== 'number') throw error;
    return { ok: false, line: lineNumber, message };
  }
}

const table = (line: number): TomlTable => ({ kind: 'table', line, members: new Map() });

function addTable(root: TomlTable, node: AST.TOMLTable): void {
  const line = node.loc.start.line;
  let place: TomlTable = root;
  for (const [index, part] of node.resolvedKey.entries()) {
    // The number of an element follows the name of its array and is handled with it.
    if (typeof part === 'number') continue;
    const position = node.resolvedKey[index + 1];
    place = typeof position === 'number' ? element(place, part, position, line) : member(place, part, line);
  }
  for (const each of node.body) addKeyValue(place, each);
}

function element(place: TomlTable, name: string, position: number, line: number): TomlTable {
  const array = (place.members.get(name) ?? { kind: 'array', line, items: [] }) as TomlArray;
  place.members.set(name, array);
  const found = array.items[position];
  if (found?.kind === 'table') return found;
  const made = table(line);
  array.items.push(made);
  return made;
}

function member(place: TomlTable, name: string, line: number): TomlTable {
  const found = place.members.get(name);
  if (found?.kind === 'table') return found;
  const made = table(line);
  place.members.set(name, made);
  return made;
}

function addKeyValue(place: TomlTable, { key, value }: AST.TOMLKeyValue): void {
  const line = key.loc.start.line;
  const names = key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));
  const last = names.pop() ?? '';
  const within = names.reduce((inner, name) => member(inner, name, line), place);
  within.members.set(last, nodeOf(value, line));
}

function nodeOf(value: AST.TOMLContentNode, line = value.loc.start.line): TomlNode {
  if (value.type === 'TOMLArray')
    return { kind: 'array', line, items: value.elements.map((each) => nodeOf(each)) };
  if (value.type === 'TOMLValue') return { kind: 'scalar', line, value: value.value };
  const made = table(line);
  for (const each of value.body) addKeyValue(made, each);
  return made;
}
