/** Sweeps that are sampled take everything: `ASSAY_TEST_THOROUGH=1 npm test -- PATH`. */
export const isThorough = process.env.ASSAY_TEST_THOROUGH !== undefined
