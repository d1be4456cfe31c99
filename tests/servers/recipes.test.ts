import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { agentClusterRole } from '../../scripts/testbed/agent-role.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { apply, createNamespace } from '../support/cluster.ts';
import { applyGatewaySync, request, untilGatewaySync } from '../support/gateway-syncs.ts';
import { shareGitServer } from '../support/git-server-for.ts';
import { controllerStarter } from '../support/start-path.ts';
import { documentedPrometheus } from './documented-prometheus.ts';
import { withPortLabels } from './pod-ports.ts';
import { namespaceObstacle } from './process-namespace.ts';
import { type Answer, type Files, type Recipe, readRecipe } from './recipe.ts';
import { missingServer } from './servers.ts';
import { type ServerPod, startPod } from './start-pod.ts';

const obstacle = await namespaceObstacle();

const git = await shareGitServer();

/** Files with the port of their server, which have templates. */
const WITH_PORTS = /\.(?:conf|cfg)$|^prometheus\.yml$/;

/** Returns files for pods of this machine, on which servers run as root, each with its own ports. */
function adapt(files: Files, recipe: Recipe): Files {
  const adapted = Object.entries(files).map(([file, text]) => [
    file,
    WITH_PORTS.test(file)
      ? withPortLabels(file.endsWith('mosquitto.conf') ? `user root\n${text}` : text, recipe)
      : text,
  ]);
  return Object.fromEntries(adapted);
}

/** Returns the path of a file on the data volume. */
function destinationOf(file: string, { spec }: Recipe): string {
  const [mapping] = spec.sync.profiles.default.mappings.filter(
    ({ source }) => !path.relative(source, file).startsWith('..'),
  );
  return path.join(mapping?.destination ?? '', path.relative(mapping?.source ?? '', file));
}

/** Records which files ever contained a line. */
function watchFiles(t: TestContext, files: string[], line: string): Set<string> {
  const found = new Set<string>();
  const look = () => {
    for (const file of files) if (contentOf(file).split('\n').includes(line)) found.add(file);
  };
  const timer = setInterval(look, 5);
  t.after(() => clearInterval(timer));
  return found;
}

/** A file is absent for a moment while the agent replaces it. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Returns checks that take less time than the documented ones. A slow machine needs seconds to reload a server, or until
 * Prometheus has scraped that its reload failed.
 */
const checksOf = (recipe: Recipe) =>
  recipe === documentedPrometheus
    ? { for: '10s', interval: '1s' }
    : { for: '3s', interval: '1s', failureThreshold: 10 };

async function testRecipe(t: TestContext, recipe: Recipe): Promise<void> {
  const repository = await git.createRepository(recipe.name);
  await repository.commit({ files: adapt(recipe.files, recipe) });
  const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const address = { namespace: await createNamespace(t, restricted), name: recipe.name };
  await apply(agentClusterRole);
  await (await controllerStarter(t, address.namespace)).start();
  const { sync, gateway, rollout } = recipe.spec;
  const verify = { ...gateway.verify, ...checksOf(recipe) };
  const configure = (previews: 'with previews' | 'without previews') => {
    const waves = previews === 'with previews' ? rollout : { ...rollout, previewTimeout: '0s' };
    const spec = { sync, rollout: waves, gateway: { ...gateway, verify } };
    return applyGatewaySync(address, { repo: repository.url }, spec);
  };
  // Previews start at most once a minute on average, so only the commits with mistakes have one.
  await configure('without previews');
  const pods: ServerPod[] = [];
  for (const name of ['gateway-0', 'gateway-1']) pods.push(await startPod(t, { ...address, name, recipe }));
  const allAnswer = (answer: Answer) => Promise.all(pods.map((pod) => pod.untilAnswers(answer)));
  const deliver = async (files: Files, phase: RolloutStatus['phase']) => {
    const commit = await repository.commit({ files: adapt(files, recipe) });
    await request(address, commit);
    const { status } = await untilGatewaySync(
      address,
      `${phase} of ${commit}`,
      ({ status: { rollout } = {} }) => rollout?.commit === commit && rollout.phase === phase,
      // A preview and a deadline can take a minute each.
      300_000,
    );
    return status?.rollout?.failureMessage ?? status?.rollout?.previewFailure ?? '';
  };
  await allAnswer(recipe.before);
  await untilGatewaySync(address, 'all synced', ({ status }) => status?.gateways?.synced === pods.length);

  await deliver(recipe.changed, 'Complete');
  await allAnswer(recipe.after);

  await configure('with previews');
  for (const { files, file, line, message, isDelivered } of recipe.mistakes) {
    const delivered = pods.map(({ data }) => path.join(data, destinationOf(file, recipe)));
    const damaged = watchFiles(t, delivered, line);
    const failure = await deliver(files, isDelivered ? 'RolledBack' : 'Stopped');
    assert.ok(failure.includes(message), failure);
    assert.equal(
      damaged.size,
      isDelivered ? 1 : 0,
      'only the canary ever had the mistake, unless its preview found it',
    );
    await allAnswer(recipe.after);
  }

  await configure('without previews');
  await deliver(recipe.files, 'Complete');
  await allAnswer(recipe.before);
}

/** The two that wait for a second preview, or for a deadline, come first. */
const recipes = await Promise.all(['prometheus', 'node-red', 'nginx', 'haproxy', 'mosquitto'].map(readRecipe));

const missing = new Map(
  await Promise.all(
    [...recipes, documentedPrometheus].map(async (recipe) => [recipe, await missingServer(recipe)] as const),
  ),
);

suite('a commit changes the server, and a mistake never gets beyond the canary, with', { concurrency: 4 }, () => {
  for (const recipe of [...recipes, documentedPrometheus]) {
    const skip = obstacle ?? missing.get(recipe);
    test(recipe.name, { skip }, (t) => testRecipe(t, recipe));
  }
});
