import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../shared/service/repo-root';

/** Lengths of files and functions, and layers of imports. Pure, except for `importGraph`. */

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

/** Reads the import graph of the TypeScript files below some folders, by paths from the repository's root. */
export function importGraph(...folders: string[]): ImportGraph {
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => posix.join(folder, name)),
  );
  return new Map(files.map((file) => [file, importsOf(file, readFileSync(join(ROOT, file), 'utf8'))]));
}

/** Returns the files that a file imports by a relative path, without imports of types, which the compiler removes. */
export function importsOf(file: string, text: string): string[] {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest).statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier: from } = statement;
    if (!from || !ts.isStringLiteral(from) || !from.text.startsWith('.') || isTypeOnly(statement)) return [];
    return [`${posix.join(posix.dirname(file), from.text)}.ts`];
  });
}

function isTypeOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const names = statement.importClause?.namedBindings;
  if (statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return names !== undefined && ts.isNamedImports(names) && names.elements.every(({ isTypeOnly: only }) => only);
}
