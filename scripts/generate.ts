import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { generateApiReference } from './generate/api-reference.ts';
import { generateChartReadme } from './generate/chart-readme.ts';
import { generateCliReference } from './generate/cli-reference.ts';
import { generateCrds } from './generate/crds.ts';
import { fleetOverview } from './generate/dashboards/fleet-overview.ts';
import { gatewaySyncDetail } from './generate/dashboards/gateway-sync-detail.ts';
import { generateWords } from './generate/words.ts';

const root = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');
const stale: string[] = [];
const textOf = (model: object) => `${JSON.stringify(model, null, 2)}\n`;

for (const [path, content] of Object.entries({
  ...generateCrds(),
  ...generateApiReference(),
  ...generateCliReference(),
  ...generateWords(),
  ...(await generateChartReadme()),
  'chart/dashboards/fleet-overview.json': textOf(fleetOverview()),
  'chart/dashboards/gatewaysync-detail.json': textOf(gatewaySyncDetail()),
})) {
  const file = join(root, path);
  const current = await readFile(file, 'utf8').catch(() => undefined);
  if (current === content) continue;
  stale.push(path);
  if (check) continue;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  console.log(`wrote ${path}`);
}

if (check && stale.length > 0) {
  console.error(`stale generated files: ${stale.join(', ')}. Run npm run generate and commit the result.`);
  process.exitCode = 1;
}
