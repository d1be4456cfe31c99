import { withBase } from 'vitepress';
import { defineComponent, h } from 'vue';

/** Explains below the name of the project what a gateway is, and how far the project is. */
export const HomeNotes = defineComponent(
  () => () =>
    h('div', { class: 'home-notes' }, [
      h('p', [
        h('strong', 'A gateway'),
        ' is any pod that reads files from a volume: nginx, HAProxy, Prometheus, Mosquitto, Airflow, an Ignition SCADA gateway. It has nothing to do with the Kubernetes Gateway API.',
      ]),
      h('p', [
        h('strong', 'Status'),
        ': alpha. The API is ',
        h('code', 'v1alpha1'),
        ', and there is no release yet, so you ',
        h('a', { href: withBase('/how-to/installation') }, 'install from a checkout'),
        '.',
      ]),
    ]),
);
