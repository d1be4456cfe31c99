import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNamespace } from '../support/cluster.ts';
import { applyGatewaySync, condition, untilGatewaySync, untilStatus } from '../support/gateway-syncs.ts';
import { serveRepository } from '../support/git-server-for.ts';
import { startControllerProcess } from '../support/start-controller.ts';
import { environmentOf, pick, render } from './support/render.ts';

const volume = { name: 'company-ca', configMap: { name: 'company-ca' } };
const mount = { name: 'company-ca', mountPath: '/etc/company-ca', readOnly: true };
const variable = { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/company-ca/ca.crt' };
const values = { extraVolumes: [volume], extraVolumeMounts: [mount], extraEnv: [variable] };

test('the controller trusts a company CA in the values for all repositories', async (t) => {
  const namespace = await createNamespace(t);
  const { server, repository, commit } = await serveRepository(t, { tls: true });

  const outsider = { namespace, name: 'stranger' };
  const before = await startControllerProcess(t, namespace);
  await applyGatewaySync(outsider, { repo: repository.url });
  const refused = await untilGatewaySync(
    outsider,
    'refused',
    (seen) => condition(seen, 'RefResolved')?.status === 'False',
  );
  assert.equal(condition(refused, 'RefResolved')?.reason, 'CertificateNotTrusted');
  await before.stop();

  const environment = environmentOf(pick(await render(values), 'Deployment'));
  // As the kubelet mounts the volume.
  const caFile = environment.NODE_EXTRA_CA_CERTS?.replace('/etc/company-ca/ca.crt', server.caFile ?? '');
  await startControllerProcess(t, namespace, { NODE_EXTRA_CA_CERTS: caFile ?? '' });
  const known = { namespace, name: 'known' };
  await applyGatewaySync(known, { repo: repository.url });
  await untilStatus(known, { lastSyncCommit: commit });
});
