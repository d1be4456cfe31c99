import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { gatewayPodSpec } from '../../testbed/gateway-pod-spec.ts';
import { NAMESPACE, type World } from './world.ts';

/** About as many variables as in a real container, because the controller's memory depends on the size of pods. */
const env = Array.from({ length: 20 }, (_, index) => ({
  name: `SETTING_${index}`,
  value: `a value of setting ${index}`,
}));

/** Creates a ready pod with a sidecar that follows a GatewaySync. No agent runs. */
export async function createPod({ client }: World, name: string, resource: string): Promise<void> {
  await client.create(corePath('pods', NAMESPACE), {
    metadata: {
      name,
      labels: { [AGENT_LABEL]: 'true' },
      annotations: { [POD_ANNOTATIONS.inject]: 'true', [POD_ANNOTATIONS.crName]: resource },
    },
    spec: {
      ...gatewayPodSpec,
      initContainers: [{ name: AGENT_CONTAINER, image: 'agent:1', env, restartPolicy: 'Always' }],
      containers: gatewayPodSpec.containers.map((container) => ({ ...container, env })),
    },
  });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await client.mergePatch(`${corePath('pods', NAMESPACE, name)}/status`, { status });
}
