/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours that are distinguishable in grey and with colour blindness. */
#ifndef CAY_PLOT_COLOUR_H
#define CAY_PLOT_COLOUR_H

#define COLOUR_BYTES 8
#define COLOUR_GREY  "#bbbbbb" /* of dead links */

/* The colour of a share from 0 (light) to 1 (dark), clamped. */
void colour_share(double share, char colour[COLOUR_BYTES]);
/* The colour of a series; repeats after eight. */
const char *colour_series(unsigned number);

#endif
