/** The top of the start page, above the index of the docs. */
export const home = {
  layout: 'home',
  hero: {
    name: 'stoker-operator',
    text: 'Files from git to the pods that read them',
    tagline:
      'A Kubernetes operator that can change a few pods at a time, check their health, and roll back a bad commit.',
    image: {
      src: '/rollout.svg',
      alt: 'The plan of a good commit, which then reaches six gateways in three waves. A bad commit fails on the first gateway and is rolled back.',
    },
    actions: [
      { theme: 'brand', text: 'Get started', link: '/tutorials/getting-started' },
      { theme: 'alt', text: 'Concepts', link: '/explanation/concepts' },
      { theme: 'alt', text: 'How it compares', link: '/explanation/comparison' },
    ],
  },
  features: [
    {
      title: 'Proxies and brokers',
      details:
        'A merged pull request changes the routes of 200 HAProxy or nginx pods, five at a time. If the first five fail, it is rolled back.',
      link: '/how-to/roll-out-in-waves',
    },
    {
      title: 'Industrial gateways',
      details:
        'The Ignition or Mosquitto gateway of each site gets the shared files plus its own directory, during a maintenance window.',
      link: '/how-to/freeze-changes',
    },
    {
      title: 'DAGs and rules',
      details:
        'Airflow and Prometheus follow a branch as soon as the git server sends its webhook, without a new image.',
      link: '/examples/',
    },
    {
      title: 'Why not Flux or Argo CD?',
      details:
        "They apply Kubernetes objects, and don't put files into a running pod. Use them to install this operator and its resources.",
      link: '/explanation/comparison',
    },
    {
      title: 'Why not git-sync?',
      details:
        'Each pod polls on its own. There is no view of the fleet, no health check, and no rollback, so a bad commit reaches every pod.',
      link: '/how-to/migrating-from-git-sync',
    },
    {
      title: 'Why not a ConfigMap?',
      details:
        "It holds at most 1 MiB. It reaches all pods, so you can't try a change on one first, and nothing rolls it back.",
      link: '/explanation/faq',
    },
  ],
};
