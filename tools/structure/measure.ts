import ts from 'typescript';

/** Lengths of files and functions, and layers of imports. Pure. */

/** The files that each file imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

export interface Lengths {
  lines: number;
  /** lines of each function with a block, from its first to its last */
  functions: number[];
  /** uses of the type `any` */
  anys: number;
}

export function lengths(file: string, text: string): Lengths {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const functions: number[] = [];
  let anys = 0;
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) anys++;
    if (ts.isFunctionLike(node)) {
      const { body } = node as ts.FunctionLikeDeclaration;
      const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
      if (body && ts.isBlock(body)) functions.push(lineAt(node.end) - lineAt(node.getStart(source)) + 1);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { lines: text.split('\n').length - 1, functions, anys };
}

/**
 * Returns the number of layers of some files: a file that imports none of the others is in the first layer, and any other
 * file is one layer above the highest file that it imports.
 */
export function layersOf(graph: ImportGraph, files: readonly string[]): number {
  const inside = new Set(files);
  const layers = new Map<string, number>();
  const layerOf = (file: string): number => {
    const known = layers.get(file);
    if (known !== undefined) return known;
    // A cycle would not end otherwise. The boundary check forbids cycles.
    layers.set(file, 0);
    const below = (graph.get(file) ?? []).filter((imported) => inside.has(imported)).map(layerOf);
    const layer = 1 + Math.max(0, ...below);
    layers.set(file, layer);
    return layer;
  };
  return Math.max(0, ...files.map(layerOf));
}

/** Returns the smallest value that is not below `share` (0 to 1) of all; 0 for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
