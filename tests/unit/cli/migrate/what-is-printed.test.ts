import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { fromSecret, migrateText, podIn, podWith, REPO, specOf, variable } from './pods.ts';

suite('the output of kubectl stoker migrate', () => {
  test('is empty for a pod with a remaining git-sync that has a password', async () => {
    const secret = 'hunter2';
    const url = `https://bot:${secret}@git.example.com/acme/theme.git`;
    const containers: object[] = [
      { command: ['sh', '-c', `/git-sync --repo=${url}`] },
      { command: ['sh', '-c', `/git-sync --repo=https://ghp_${secret}@other.example.com/theme`] },
      { command: ['sh', '-c', `/git-sync --repo=https://git.example.com/x --password ${secret}`] },
      { args: [`--repo=${url}`, '--username=$(NOBODY)'] },
      { args: [`--repo=${url}`], env: [fromSecret('GITSYNC_REF')] },
      { args: ['--root=/elsewhere', '--repo', 'https://git.example.com/x', '-password', secret] },
    ];
    for (const container of containers) {
      const pod = JSON.parse(podWith({ args: [REPO] }));
      pod.spec.containers.push({ ...pod.spec.containers[1], args: [], name: 'theme', ...container });
      const { status, output, notes } = await migrateText(JSON.stringify(pod));
      assert.deepEqual([status, output], [1, ''], JSON.stringify(container));
      assert.match(notes, /^error: .*: Pod site: container theme: .* password/);
      assert.ok(!notes.includes(secret), notes);
    }
  });

  test('is empty if another container or field of the pod has the password of the repository', async () => {
    const url = 'https://bob:hunter2@git.example.com/acme/site.git';
    const exec = { exec: { command: ['git', 'pull', url] } };
    const header = 'Authorization: Bearer hunter2';
    const apps: object[] = [
      { env: [variable('SOURCE', url)] },
      { env: [variable('GITSYNC_PASSWORD', 'hunter2')] },
      { args: [`--from=${url.replace('bob:hunter2', `ghp_${'hunter2'.repeat(5)}`)}`] },
      { lifecycle: { postStart: exec } },
      { startupProbe: { httpGet: { path: '/', httpHeaders: [{ name: 'X-From', value: url }] } } },
      { command: ['git', '-c', `http.extraHeader=${header}`, 'pull'] },
      { command: ['sh', '-c', `git -c http.https://git.example.com/.extraheader="${header}" pull`] },
      { env: [variable('GIT_CONFIG_KEY_0', 'http.extraHeader'), variable('GIT_CONFIG_VALUE_0', header)] },
      ...['GIT_PASSWORD', 'GITHUB_TOKEN', 'GIT_PASS', 'GITLAB_PAT'].map((name) => ({
        env: [variable(name, 'hunter2')],
      })),
      { env: [variable('GIT_SSH_KEY', '-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n')] },
      { env: [variable('OTHER', 'hunter2'), variable('GIT_PASSWORD', '$(OTHER)')] },
      { args: [url.replace('hunter2', 'p@hunter2')] },
      { command: ['git', '-c', 'http.extraHeader=PRIVATE-TOKEN: hunter2', 'pull'] },
      { command: ['sh', '-c', 'echo machine git.example.com login bob password hunter2 > ~/.netrc'] },
    ];
    const debug = { name: 'app', image: 'alpine/git', command: ['git', 'pull', url] };
    const csi = { name: 'other', csi: { driver: 'git.example.com', volumeAttributes: { repository: url } } };
    const pods: Parameters<typeof podWith>[1][] = [
      ...apps.map((app) => ({ app })),
      { spec: { initContainers: [debug] } },
      { spec: { ephemeralContainers: [debug] } },
      { spec: { volumes: [{ name: 'html', emptyDir: {} }, csi] } },
      { metadata: { annotations: { 'example.com/source': url } } },
    ];
    for (const pod of pods.map((each) => podWith({ args: [REPO] }, each))) {
      const { status, output, notes } = await migrateText(pod);
      assert.deepEqual([status, output], [1, ''], pod);
      const where = /^error: .*: Pod site: (container app|its annotations|its volumes): .* password /;
      assert.match(notes, where);
      assert.ok(!notes.includes('hunter2'), notes);
    }
    const env = [
      ...[fromSecret('GIT_PASSWORD'), variable('GIT_ASKPASS', '/bin/ask'), variable('GIT_SSH_KEY', '/keys/id')],
      ...[variable('DB', 'postgres://app:pass@db/x'), variable('FROM', 'https://bot:$(PASS)@git.example.com')],
      ...[fromSecret('ONE_OF_SOME_THIRTY_CHARACTERS'), variable('GIT_TOKEN', '$(ONE_OF_SOME_THIRTY_CHARACTERS)')],
      variable('SOURCE', 'https://$(ONE_OF_SOME_THIRTY_CHARACTERS)@git.example.com/acme/site.git'),
    ];
    const command = ['sh', '-c', 'git -c http.extraHeader="Authorization: Bearer $TOKEN" pull'];
    const { status, notes } = await migrateText(podWith({ args: [REPO] }, { app: { env, command } }));
    assert.equal(status, 0, notes);
  });

  test('is an error for invalid YAML, even if only its aliases are wrong', slow, async () => {
    const listOf = (_: unknown, index: number) => `l${index + 1}: &l${index + 1} [${Array(9).fill(`*l${index}`)}]`;
    const lists = Array.from({ length: 12 }, listOf);
    const manifests = ['a: [', 'a: *nobody', `l0: &l0 [x]\n${lists.join('\n')}`, 'kind: List\nitems: &all [*all]'];
    for (const manifest of [...manifests, '['.repeat(100_000)]) {
      const { status, output, notes } = await migrateText(manifest);
      assert.deepEqual([status, output], [1, ''], notes);
      assert.match(notes, /^error: .*YAML: .+\n$/);
    }
  });

  test('has variables expanded like by the kubelet', async () => {
    const git = async (env: object[]) => {
      const { output, notes } = await migrateText(podWith({ env }));
      return output ? specOf(output).git.repo : notes;
    };
    const repo = variable('GITSYNC_REPO', 'https://git.example.com/$(ORG)/$$(ORG)');
    assert.equal(await git([variable('ORG', 'acme'), repo]), 'https://git.example.com/acme/$(ORG)');
    assert.equal(await git([repo, variable('ORG', 'acme')]), 'https://git.example.com/$(ORG)/$(ORG)');
    assert.match(await git([fromSecret('ORG'), repo]), / GITSYNC_REPO /);
  });

  test('has a new name for the GatewaySync if the manifest contains one of that name', async () => {
    const present = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'site' }, spec: {} };
    const { output } = await migrateText(`${JSON.stringify(present)}\n---\n${podWith({ args: [REPO] })}`);
    assert.equal(podIn(output).metadata.annotations?.['sync.io/cr-name'], 'site-2');
    assert.match(output, /^ {2}name: site-2$/m);
  });

  test('warns that only one agent at a time delivers to a claim', async () => {
    const volumes = (volume: object) => ({ spec: { volumes: [{ name: 'html', ...volume }] } });
    const shared = await migrateText(podWith({ args: [REPO] }, volumes({ persistentVolumeClaim: { claimName: 'c' } })));
    assert.match(shared.output, /^# TODO: .* volume html, .* strategy Recreate/m);
    const own = await migrateText(podWith({ args: [REPO] }, volumes({ emptyDir: {} })));
    assert.doesNotMatch(own.output, /strategy Recreate/);
  });
});
