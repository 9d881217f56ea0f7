import fc from 'fast-check'

/** The same stories every time. To look further, give another seed: `ASSAY_TEST_SEED=7 npm test -- test/simulation`. */
fc.configureGlobal({ seed: Number(process.env.ASSAY_TEST_SEED ?? 1) })
