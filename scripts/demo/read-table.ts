import { inkFor } from '../../cli/terminal/ink.ts';
import { drawTable } from '../../cli/terminal/table.ts';
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
  const shown = columnDefinitions.flatMap(({ name, priority }, index) => (priority === 0 ? [{ name, index }] : []));
  const titles = shown.map(({ name }) => ({ title: name.toUpperCase() }));
  const cells = rows.map((row) => shown.map(({ index }) => String(row.cells[index] ?? '')));
  return drawTable(titles, cells, { columns: undefined, ink: inkFor(false) }).join('\n');
}
