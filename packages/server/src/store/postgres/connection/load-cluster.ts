/** Loads the code for clusters. Plain PostgreSQL never does. */
export const loadCluster = () => import('../cluster/index.ts')
