/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours, chosen so that they can be told apart in grey and by everybody. */
#ifndef CAY_PLOT_COLOUR_H
#define CAY_PLOT_COLOUR_H

#define COLOUR_BYTES 8
#define COLOUR_GREY  "#bbbbbb" /* of what is not there any more */

/* Of a share from 0 (light) to 1 (dark); what lies outside is cut. */
void colour_share(double share, char colour[COLOUR_BYTES]);
/* Of the series with this number; after eight they come again. */
const char *colour_series(unsigned number);

#endif
