import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables */
interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

/** Reads a collection as the table that `kubectl get` prints. */
export async function readTable(client: KubernetesClient, path: string): Promise<string> {
  const { columnDefinitions, rows } = await client.get<Table>(path, {
    accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
  });
  // The other columns are for `--output wide`.
  const isShown = columnDefinitions.map(({ priority }) => priority === 0);
  const lines = [columnDefinitions.map(({ name }) => name.toUpperCase()), ...rows.map(({ cells }) => cells)].map(
    (cells) => cells.filter((_, index) => isShown[index]).map((cell) => String(cell ?? '')),
  );
  const widths = (lines[0] ?? []).map((_, index) => Math.max(...lines.map((cells) => cells[index]?.length ?? 0)));
  return lines
    .map((cells) =>
      cells
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
