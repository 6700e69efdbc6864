/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The version of the project. meson.build and all documents take it from these
 * three lines.
 */
#ifndef CAY_VERSION_H
#define CAY_VERSION_H

#include "cay/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CAY_VERSION_MAJOR 0
#define CAY_VERSION_MINOR 2
#define CAY_VERSION_PATCH 0

/* A version as one number; a later version is a greater number. */
#define CAY_VERSION_NUMBER(major, minor, patch) \
	((major)*1000000u + (minor)*1000u + (patch))

/* The version of the headers, for #if. */
#define CAY_VERSION         \
	CAY_VERSION_NUMBER( \
		CAY_VERSION_MAJOR, CAY_VERSION_MINOR, CAY_VERSION_PATCH)

#define CAY_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define CAY_VERSION_TEXT(major, minor, patch) \
	CAY_VERSION_TEXT_(major, minor, patch)
#define CAY_VERSION_STRING \
	CAY_VERSION_TEXT(  \
		CAY_VERSION_MAJOR, CAY_VERSION_MINOR, CAY_VERSION_PATCH)

/*
 * Returns the version of the library that the program runs with, in the form of
 * CAY_VERSION. Libraries with the same soname are compatible. Thread-safe; does
 * not block.
 */
CAY_API unsigned cay_version(void);

#ifdef __cplusplus
}
#endif

#endif
